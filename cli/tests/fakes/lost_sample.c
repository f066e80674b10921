// SPDX-License-Identifier: GPL-2.0-or-later
/* A sampling core that loses every 100th value: linked with --wrap=series_record. */
#include "statistics/series.h"

void __wrap_series_record(struct series *series, uint64_t trigger, uint64_t value_ns,
			  uint64_t at_ns);
void __real_series_record(struct series *series, uint64_t trigger, uint64_t value_ns,
			  uint64_t at_ns);

void __wrap_series_record(struct series *series, uint64_t trigger, uint64_t value_ns,
			  uint64_t at_ns)
{
	if (trigger % 100 != 99)
		__real_series_record(series, trigger, value_ns, at_ns);
}
