// A part of libstdc++ for the Python package for other systems (RUNNEL_PORTABLE). In GCC 12 this
// function got a new version (GLIBCXX_3.4.30), the only one of this code that the libstdc++ of
// manylinux_2_34 lacks. To link libstdc++ statically does not help: its code needs GLIBC_2.36.
#include <condition_variable>
#include <mutex>

namespace std {

// As in libstdc++: no exception leaves it.
void condition_variable::wait(unique_lock<mutex>& lock) { _M_cond.wait(*lock.mutex()); }

}  // namespace std
