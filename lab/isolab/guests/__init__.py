# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests: what they boot, how they are booted, and what they write."""
