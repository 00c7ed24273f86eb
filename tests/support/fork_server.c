// Loaded before a program (LD_PRELOAD), it lets the program start once and run many times: after
// the libraries are loaded and the static objects constructed, it waits for command lines, and
// forks a process for each, which goes on into main(). Loading LibTorch takes most of the time of a
// short run. AFL calls this a deferred fork server. Its client is support/python/fork_server.py.
//
// A request, on the socket whose number is in RUNNEL_FORK_SERVER_SOCKET: the number of bytes that
// follow (uint32) together with the descriptors of standard input, output and error; then the
// working folder and the arguments, each ended by a zero byte. The answer is the number of the
// process (int32). Its parent is the nearest process above that is a subreaper.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kStandardFiles = 3 };

typedef int Main(int, char**, char**);
typedef int LibcStart(Main*, int, char**, void (*)(void), void (*)(void), void (*)(void), void*);

static const char kSocketVariable[] = "RUNNEL_FORK_SERVER_SOCKET";
static Main* program_main;

// The leak sanitizer's, where the program has it.
extern void __lsan_disable(void) __attribute__((weak));
extern void __lsan_enable(void) __attribute__((weak));

static void require(int condition) {
  if (!condition) abort();
}

// The first constructor of all (-z initfirst). What other constructors allocate is left out of the
// search for leaks, which would mark it in each process, and thereby copy every page of it.
__attribute__((constructor)) static void begin_loading(void) {
  if (__lsan_disable != NULL) __lsan_disable();
}

struct Request {
  int files[kStandardFiles];
  uint32_t num_bytes;
  char* bytes;
};

// Returns 0 when the other end is closed.
static int receive(int socket, struct Request* request) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof request->files)];
  } control;
  struct iovec data = {&request->num_bytes, sizeof request->num_bytes};
  struct msghdr message = {.msg_iov = &data,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
  const ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  if (count == 0) return 0;
  require(count == (ssize_t)sizeof request->num_bytes);
  const struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  require(header != NULL && header->cmsg_len == CMSG_LEN(sizeof request->files));
  memcpy(request->files, CMSG_DATA(header), sizeof request->files);
  request->bytes = malloc(request->num_bytes);
  require(request->bytes != NULL);
  const ssize_t received = recv(socket, request->bytes, request->num_bytes, MSG_WAITALL);
  require(received == (ssize_t)request->num_bytes);
  return 1;
}

static void finish(struct Request* request) {
  for (int file = 0; file < kStandardFiles; ++file) close(request->files[file]);
  free(request->bytes);
}

// In the new process: takes the request's files, folder and arguments, and is the program.
static int run(int socket, const struct Request* request, char** environment) {
  const char* end = request->bytes + request->num_bytes;
  char* first = request->bytes + strlen(request->bytes) + 1;
  size_t count = 0;
  for (const char* at = first; at < end; at += strlen(at) + 1) ++count;
  static char** arguments;  // reachable for as long as the program runs
  arguments = calloc(count + 1, sizeof *arguments);
  require(arguments != NULL && count > 0);
  char* at = first;
  for (size_t i = 0; i < count; at += strlen(at) + 1) arguments[i++] = at;

  require(chdir(request->bytes) == 0);
  for (int file = 0; file < kStandardFiles; ++file) {
    if (request->files[file] == file) continue;
    require(dup2(request->files[file], file) == file);
    close(request->files[file]);
  }
  close(socket);
  const char* slash = strrchr(first, '/');
  program_invocation_name = first;
  program_invocation_short_name = slash == NULL ? first : first + (slash + 1 - first);
  return program_main((int)count, arguments, environment);
}

// In place of main().
static int serve(int count, char** arguments, char** environment) {
  (void)count;
  (void)arguments;
  const int socket = atoi(getenv(kSocketVariable));
  unsetenv(kSocketVariable);
  unsetenv("LD_PRELOAD");
  pid_t* process =
      mmap(NULL, sizeof *process, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(process != MAP_FAILED);
  struct Request request;
  while (receive(socket, &request)) {
    const pid_t between = fork();
    require(between >= 0);
    if (between == 0) {
      // When this process ends, the one that it forks becomes a child of the subreaper.
      const pid_t child = fork();
      require(child >= 0);
      if (child == 0) return run(socket, &request, environment);
      *process = child;
      _exit(0);
    }
    finish(&request);
    int status;
    require(waitpid(between, &status, 0) == between && status == 0);
    require(write(socket, process, sizeof *process) == sizeof *process);
  }
  _exit(0);
}

// glibc's entry point, which gets the program's main().
int __libc_start_main(Main* main, int count, char** arguments, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void* stack_end) {
  LibcStart* start;
  *(void**)&start = dlsym(RTLD_NEXT, "__libc_start_main");
  program_main = main;
  if (__lsan_enable != NULL) __lsan_enable();
  return start(getenv(kSocketVariable) == NULL ? main : serve, count, arguments, init, fini,
               loader_fini, stack_end);
}
