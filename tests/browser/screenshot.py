"""Write an image of a page, for the documentation.

python tests/browser/screenshot.py comparison/index.html compare.png --width 390 --theme dark --state '#panels=1'
"""

import argparse
from pathlib import Path

from driver import HEIGHT, chromium, new_page


def main() -> None:
    """Read the options and write the image."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("image", type=Path)
    parser.add_argument("--width", type=int, default=1400)
    parser.add_argument("--height", type=int, default=HEIGHT, help="of the image; 0: of the whole page")
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    parser.add_argument("--state", default="", help="what follows the address of the page, from #")
    arguments = parser.parse_args()
    with chromium() as browser:
        page, faults = new_page(browser, arguments.width, arguments.theme)
        page.set_viewport_size({"width": arguments.width, "height": arguments.height or HEIGHT})
        page.goto(f"{arguments.page.resolve().as_uri()}{arguments.state}")
        page.screenshot(path=arguments.image, full_page=arguments.height == 0)
    print(*faults, sep="\n", end="")


if __name__ == "__main__":
    main()
