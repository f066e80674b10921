// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"
#include "options.h"

#define STORE_MIN (UINT64_C(1) << 20)
#define STORE_MAX (UINT64_C(1) << 36)

static const char help[] =
"usage: isolator-generator --socket PATH [OPTION...]\n"
"       isolator-generator --calibrate [--cpu N] [--rounds N]\n"
"\n"
"Sends triggers to virtual machines and sees when each of their mechanisms answers: the\n"
"virtual back end of isolator-scope. It is the ivshmem server of the machines, their peer, and\n"
"a TCP server for one host, which sets frequency, phase, bursts and lines and takes the records\n"
"(docs/scope-protocol.md). While triggers run it keeps one CPU busy.\n"
"\n"
"options:\n"
"  -s, --socket PATH        where QEMU connects; made if there is none\n"
"  -l, --listen ADDR:PORT   where the host connects (default 127.0.0.1:2350; port 0: any)\n"
"  -t, --token-file FILE    its first line is asked of the host; needed for an address that\n"
"                           other machines can reach (default: PATH.token of --socket, made if\n"
"                           there is none)\n"
"  -c, --cpu N              the CPU that captures (default: the last one of this process)\n"
"  -r, --rounds N           of the calibration at start (default 2000)\n"
"  -m, --store SIZE         memory for packets that the host has not kept yet, 1M to 64G\n"
"                           (default 64M)\n"
"  -C, --calibrate          measure the generator itself, say the result, and end\n"
"  -h, --help               this text\n"
"  -V, --version            the version of this command\n"
"\n"
"examples:\n"
"  isolator-generator --socket lines.sock --cpu 3\n"
"      then QEMU with: -chardev socket,path=lines.sock,id=lines\n"
"                      -device ivshmem-doorbell,chardev=lines,vectors=1\n"
"  isolator-generator --calibrate --cpu 3\n"
"      how exact is it on this machine?\n"
"  isolator-generator --socket lines.sock --listen 0.0.0.0:2350 --token-file token\n"
"      for a host on another machine; the token is sent in the clear\n"
"\n"
"exit codes:\n"
"  0   ended by a signal, or calibrated\n"
"  1   an error, which says what to do about it\n"
"  3   it could not be calibrated: there is no second CPU to answer\n";

static void put(const char *format, va_list arguments)
{
	fflush(stdout);
	fprintf(stderr, "isolator-generator: ");
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
}

void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put(format, arguments);
	va_end(arguments);
}

void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put(format, arguments);
	va_end(arguments);
	exit(EXIT_ERROR);
}

static uint64_t number(const char *name, const char *text, uint64_t least, uint64_t most)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < least || value > most)
		fail("--%s needs a whole number from %llu to %llu, not \"%s\"", name,
		     (unsigned long long)least, (unsigned long long)most, text);
	return value;
}

static uint64_t size(const char *text)
{
	static const char units[] = "KMG";
	unsigned long long value;
	const char *unit;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit && !end[1] && value <= STORE_MAX) {
		value <<= 10 * (unit - units + 1);
		end++;
	}
	if (*text < '0' || *text > '9' || *end || errno || value < STORE_MIN || value > STORE_MAX)
		fail("--store needs a size from 1M to 64G, such as 64M, not \"%s\"", text);
	return value;
}

void options_parse(struct options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "listen", required_argument, NULL, 'l' },
		{ "token-file", required_argument, NULL, 't' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "store", required_argument, NULL, 'm' },
		{ "calibrate", no_argument, NULL, 'C' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	int got;

	*options = (struct options){
		.listen = "127.0.0.1:2350", .store = UINT64_C(64) << 20, .rounds = 2000, .cpu = -1,
	};
	opterr = 0;
	while ((got = getopt_long(argc, argv, ":s:l:t:c:r:m:ChV", longs, NULL)) != -1) {
		switch (got) {
		case 's':
			options->socket = optarg;
			break;
		case 'l':
			options->listen = optarg;
			break;
		case 't':
			options->token_file = optarg;
			break;
		case 'c':
			options->cpu = (int)number("cpu", optarg, 0, INT_MAX);
			break;
		case 'r':
			options->rounds = (uint32_t)number("rounds", optarg, 1,
							   CALIBRATE_ROUNDS_MAX);
			break;
		case 'm':
			options->store = size(optarg);
			break;
		case 'C':
			options->calibrate = true;
			break;
		case 'h':
			fputs(help, stdout);
			exit(EXIT_PASS);
		case 'V':
			printf("isolator-generator %s\n", VERSION);
			exit(EXIT_PASS);
		case ':':
			fail("missing argument of %s; see --help", argv[optind - 1]);
		default:
			fail("unknown option %s; see --help", argv[optind - 1]);
		}
	}
	if (optind < argc)
		fail("unexpected argument \"%s\"; see --help", argv[optind]);
	if (!options->socket && !options->calibrate)
		fail("say where targets connect: --socket PATH; see --help");
}
