"""`python -m usmp` is `tvmc`."""

import sys

from usmp.driver.tvmc import main

sys.exit(main())
