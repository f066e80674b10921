// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator-bpf: what takes CPUs from tasks, counted by programs in the kernel. */
#include <limits.h>

#include "bpf/noise.h"
#include "options/command.h"
#include "options/dispatch.h"

static bool want_version;

static const struct command help_command = DISPATCH_HELP(
	"isolator-bpf help noise", "the same as: isolator-bpf noise --help");

static const struct command completion_command = DISPATCH_COMPLETION(
	". <(isolator-bpf completion bash)", "for this shell");

static const struct command manual_command = DISPATCH_MANUAL(
	"isolator-bpf manual-options noise", "for man/isolator-bpf.1");

static const struct command *const subcommands[] = {
	&noise_command,
	&completion_command,
	&help_command,
	&manual_command,
	NULL,
};

static const struct option_spec program_options[] = {
	OPTION_HELP_SPEC,
	{ "version", 0, OPTION_FLAG, NULL, "the version of this command", { .flag = &want_version },
	  0 },
	{ 0 },
};

static const struct command program = {
	.name = "isolator-bpf",
	.operands = "SUBCOMMAND ...",
	.max_operands = INT_MAX,
	.about = "Counts by programs in the kernel (BPF) what takes CPUs from tasks, where the trace that isolator measure --why reads would be overwritten: at high rates, and over days. It needs root and a kernel with BPF and BTF.",
	.options = program_options,
	.examples = (const char *const []){
		"sudo isolator-bpf noise -c 3", "ten seconds of CPU 3, whatever runs there",
		"isolator-bpf help noise", "its options and examples",
		NULL,
	},
	.exits = (const char *const []){
		"0", "done, and nothing exceeded a limit",
		"1", "an error, which says what to do about it",
		"2", "a limit was exceeded",
		"3", "inconclusive: not everything could be counted",
		"77", "skipped: without root, BPF or BTF there is nothing to count with",
		NULL,
	},
};

int main(int argc, char **argv)
{
	const struct program bpf = { &program, subcommands, &want_version };

	return dispatch(&bpf, argc, argv);
}
