#include "tasks/nouns.hpp"

namespace headgauge {

const std::vector<std::string>& nouns() {
  static const std::vector<std::string> all = {
      "anchor",  "apple",   "arrow",   "badger",  "balloon", "banana", "barrel",  "basket",
      "bottle",  "bridge",  "bucket",  "butter",  "cabin",   "camel",  "candle",  "carpet",
      "castle",  "cherry",  "circus",  "clover",  "coffee",  "copper", "cotton",  "cradle",
      "crystal", "dagger",  "diamond", "dolphin", "donkey",  "dragon", "eagle",   "engine",
      "falcon",  "feather", "fiddle",  "flute",   "forest",  "fossil", "garlic",  "ginger",
      "glacier", "goblet",  "guitar",  "hammer",  "harbor",  "helmet", "hornet",  "island",
      "ivory",   "jacket",  "jungle",  "kettle",  "kitten",  "ladder", "lantern", "lemon",
      "leopard", "lizard",  "lobster", "magnet",  "marble",  "meadow", "mirror",  "monkey",
      "muffin",  "needle",  "nickel",  "olive",   "orchid",  "otter",  "oyster",  "panther",
      "parrot",  "pebble",  "pepper",  "piano",   "pigeon",  "planet", "pocket",  "potato",
      "pumpkin", "puzzle",  "rabbit",  "ribbon",  "rocket",  "saddle", "sailor",  "salmon",
      "scarf",   "shovel",  "silver",  "spider",  "tiger",   "timber", "tomato",  "trumpet",
      "tulip",   "tunnel",  "turtle",  "velvet",  "violin",  "walnut", "walrus",  "whistle",
      "willow",  "window",  "wizard",  "zebra",
  };
  return all;
}

}  // namespace headgauge
