// SPDX-License-Identifier: LGPL-2.1-or-later
// The header from C++, linked with the shared library.
#include <isolator.h>

static_assert(sizeof(isolator_options) == 48, "part of the ABI");

int main()
{
	isolator_options options = ISOLATOR_OPTIONS_INIT;
	isolator_result result = ISOLATOR_RESULT_INIT;
	isolator_channel_options ring = ISOLATOR_CHANNEL_OPTIONS_INIT;
	isolator_channel *channel = nullptr;

	if (isolator_channel_open(isolator_channel_create(&ring), ISOLATOR_SIDE_A, &channel) != 0 ||
	    isolator_poll(channel, 1) != 0 || isolator_channel_close(channel) != 0)
		return 1;
	return options.device == nullptr && result.depth == 0 && isolator_page() == nullptr &&
	       isolator_due() == 0 && isolator_tick(TICK_ALL) < 0 ? 0 : 1;
}
