# SPDX-License-Identifier: GPL-2.0-or-later
"""python3 -m isolator_scope."""

import sys

from .cli import main

sys.exit(main())
