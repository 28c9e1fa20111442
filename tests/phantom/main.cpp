// phantom DIR STRENGTH: writes the phantom into the folder, which is made if need be.

#include "phantom/phantom.hpp"

int main(int count, char** arguments) {
  if (count != 3) return EXIT_FAILURE;
  headgauge::write_phantom(arguments[1], std::stod(arguments[2]));
}
