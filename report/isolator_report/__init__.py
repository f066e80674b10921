# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator-report: what isolator measure wrote, read, compared, merged and shown."""

VERSION = "0.1.0"
