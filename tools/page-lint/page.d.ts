// SPDX-License-Identifier: GPL-2.0-or-later
// What pages have from scripts that are no modules.
declare const uPlot: any;
