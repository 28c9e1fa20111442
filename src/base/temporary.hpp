// Temporary files beside those that they are to become, and the locks that tell the living from the
// dead.
//
// The name of a temporary is drawn, so that none is in the way of another, whatever a process that
// was killed left behind (in a container every run has the same process id). Its writer holds a
// lock (flock) on it until it has its final name or is gone; the system drops the lock with the
// process. A stray is a temporary whose lock can be taken. Where a file system has no locks nothing
// is known to be a stray.
#pragma once

#include <chrono>
#include <string>

#include "base/descriptor.hpp"

namespace headgauge {

// Makes a temporary file for `path`, locked and open for writing, and says its name. -1 and errno
// where that cannot be done.
int open_temporary(const std::string& path, std::string& name);

// Removes the temporaries for `path` that writers which are no more left behind.
void remove_strays(const std::string& path);

// The folder that a path lies in, for opening.
std::string parent_folder(const std::string& path);

// What was renamed in the folder is on the disk then, as far as that can be had.
void sync_folder(const std::string& folder);

// A lock of a folder against other processes (and objects) that lock it. Where the file system has
// no locks there is none, and nobody to wait for.
class FolderLock {
 public:
  // Waits for another that holds it, but no longer than that.
  FolderLock(const std::string& folder, std::chrono::milliseconds patience);

 private:
  Descriptor descriptor_;
};

}  // namespace headgauge
