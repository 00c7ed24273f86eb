// Ctrl-C while standard input is read: the end of the audio, not of the program.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_FIRST_INTERRUPT_H_
#define RUNNEL_TOOLS_FIRST_INTERRUPT_H_

namespace runnel {

// Ctrl-C interrupts every program of a pipe. From now on this process outlives the first SIGINT:
// the program before it ends, and with it the input, whose results are still given. The second one
// ends this process, as ever. For programs that read standard input; once, before there are
// threads.
void OutliveFirstInterrupt();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_FIRST_INTERRUPT_H_
