// Temporary files and folders next to their final names, and the locks that distinguish files in
// use from strays.
//
// The name of a temporary is drawn at random, so that temporaries never collide with each other or
// with those of killed processes (in a container every run has the same process id). The writer
// holds a lock (flock) on the file until it is renamed or removed; the system drops the lock with
// the process. A stray is a temporary whose lock can be taken. On a file system without locks no
// file counts as a stray.
#pragma once

#include <chrono>
#include <string>

#include "base/descriptor.hpp"

namespace headgauge {

// Makes a temporary file for `path`, locked and open for writing, and sets its name. Returns -1 and
// sets errno if it cannot. `folder`: makes a folder.
int open_temporary(const std::string& path, std::string& name, bool folder = false);

// Removes the temporary files for `path` whose writers no longer run; `folder`: the folders.
void remove_strays(const std::string& path, bool folder = false);

// Puts a temporary folder in its place in one step, and sets its name to that of the folder that
// was there, if any. Returns 0 or the errno of the failure. A file system that exchanges nothing
// has neither for a moment.
int put_in_place(std::string& temporary, const std::string& path);

// Returns the folder of a path, in a form that can be opened.
std::string parent_folder(const std::string& path);

// Puts renames in the folder on the disk if the system can.
void sync_folder(const std::string& folder);

// Locks a folder against other processes (and objects) that lock it. On a file system without locks
// it does nothing.
class FolderLock {
 public:
  // Waits for another holder of the lock for at most `patience`.
  FolderLock(const std::string& folder, std::chrono::milliseconds patience);

 private:
  Descriptor descriptor_;
};

}  // namespace headgauge
