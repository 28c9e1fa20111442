"""What the package shows of itself."""

import unittest

import headgauge


class PackageTest(unittest.TestCase):
    def test_dir_has_all_that_the_package_offers(self):
        shown = dir(headgauge)
        self.assertEqual(sorted(set(headgauge.__all__) - set(shown)), [])
        for name in ("use", "Monitor", "normalize", "HeadgaugeCallback", "scan", "__version__"):
            self.assertIn(name, shown)
        self.assertEqual(shown, sorted(shown))


if __name__ == "__main__":
    unittest.main()
