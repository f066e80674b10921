# SPDX-License-Identifier: GPL-2.0-or-later
"""Every instant, every order: the isolated CPU parked at each instruction of entry and exit."""
