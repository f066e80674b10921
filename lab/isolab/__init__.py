# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab's host side: builds guests, boots them, counts and reports."""
