// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A terminal of its own for a program of another user.  One that has the caller's could type
 * into the caller's shell (TIOCSTI), and read what is typed there later.  A process of its
 * own copies between the two, so what looks after the program waits for nothing else.  The
 * program leads its session: what stops it here must stop it by SIGSTOP, since the kernel
 * takes SIGTSTP away from who has no shell above it in the same session.
 *
 * Keys are the program's only if it reads and writes the caller's terminal.  Else they are
 * for others, "| less" or the shell: nothing is read there, and its mode is left alone.  One
 * that writes nothing there either has a session of its own, without a terminal.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "run/run.h"

#define ROOM 4096
#define DRAINED (1 << 18)	/* more than a terminal holds */
#define BACKGROUND_MS 200	/* nobody tells a job that it is in the foreground again */

struct relay {
	int outer;		/* the caller's terminal */
	int inner;		/* the master of the program's */
	int signals;
	int end;		/* ends when the program has */
	bool keys;		/* are the program's */
	struct termios before;	/* of the caller's */
	bool raw;
	char typed[ROOM];	/* on its way to the program */
	size_t length;
};

/* The terminal that the kernel sends this session's signals from; -1: there is none. */
static int open_own(void)
{
	return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

/* Which terminal @fd is, however it was opened; 0: none. */
static unsigned int device_of(int fd)
{
	unsigned int device;

	return ioctl(fd, TIOCGDEV, &device) ? 0 : device;
}

/* Is a terminal there that another user than the program's has? */
static bool foreign(const struct run *run)
{
	int own = open_own();
	unsigned int device = device_of(own);
	bool strange = false, known = own < 0;

	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		struct stat status;

		if (!isatty(fd) || fstat(fd, &status))
			continue;
		strange |= status.st_uid != run->user.uid;
		known |= status.st_rdev == device;
	}
	if (own >= 0)
		close(own);
	return strange || !known;
}

/* Where no terminal keeps jobs apart each is. */
static bool in_foreground(const struct relay *relay)
{
	pid_t front = tcgetpgrp(relay->outer);

	return front < 0 || front == getpgrp();
}

/* While the job is in the foreground each key is the program's. */
static void set_raw(struct relay *relay, bool raw)
{
	struct termios mode = relay->before;

	if (raw == relay->raw)
		return;
	/* Whoever has taken the foreground has set the mode that it wants. */
	if (!raw && !in_foreground(relay)) {
		relay->raw = false;
		return;
	}
	if (raw) {
		if (tcgetattr(relay->outer, &relay->before))
			return;
		mode = relay->before;
		cfmakeraw(&mode);
	}
	if (!tcsetattr(relay->outer, TCSADRAIN, &mode))
		relay->raw = raw;
}

static void copy_size(const struct relay *relay)
{
	struct winsize size;

	if (!ioctl(relay->outer, TIOCGWINSZ, &size))
		ioctl(relay->inner, TIOCSWINSZ, &size);
}

/* Where in what was typed the job is to be stopped; NULL: nowhere. */
static char *suspends(const struct relay *relay, char *typed, size_t length)
{
	struct termios mode;

	/* A shell that the program is, or has started, stops its jobs by itself. */
	if (tcgetattr(relay->inner, &mode) || !(mode.c_lflag & ISIG) ||
	    mode.c_cc[VSUSP] == _POSIX_VDISABLE ||
	    tcgetpgrp(relay->inner) != tcgetsid(relay->inner))
		return NULL;
	return memchr(typed, mode.c_cc[VSUSP], length);
}

/* The program stops, and this job as a whole; back when both go on. */
static void suspend(struct relay *relay)
{
	pid_t program = tcgetpgrp(relay->inner);

	set_raw(relay, false);
	if (program > 0)
		kill(-program, SIGSTOP);
	kill(0, SIGTSTP);
	if (program > 0)
		kill(-program, SIGCONT);
}

/* What is typed goes to the program; false: the terminal is gone. */
static bool take_typed(struct relay *relay)
{
	char *at = relay->typed + relay->length, *stop;
	ssize_t n = read(relay->outer, at, ROOM - relay->length);

	/* The job went to the background just now, which reads nothing. */
	if (n < 0)
		return errno == EINTR || errno == EAGAIN || (errno == EIO && !in_foreground(relay));
	if (!n)
		return false;
	stop = suspends(relay, at, (size_t)n);
	if (stop) {
		/* What was typed before it is thrown away, as a terminal does. */
		n -= stop + 1 - at;
		memmove(relay->typed, stop + 1, (size_t)n);
		relay->length = (size_t)n;
		suspend(relay);
	} else {
		relay->length += (size_t)n;
	}
	return true;
}

static void pass_typed(struct relay *relay)
{
	ssize_t n = write(relay->inner, relay->typed, relay->length);

	if (n > 0) {
		relay->length -= (size_t)n;
		memmove(relay->typed, relay->typed + n, relay->length);
	}
}

/* What the program prints: how much; 0: nothing now; -1: nothing will come, or go out. */
static ssize_t pass_printed(const struct relay *relay)
{
	char text[ROOM];
	ssize_t n = read(relay->inner, text, sizeof(text));

	if (n > 0)
		return file_write_fd(relay->outer, text, (size_t)n) ? -1 : n;
	return n < 0 && (errno == EINTR || errno == EAGAIN) ? 0 : -1;
}

/* The rest; what the program has left running may print for good. */
static void drain(const struct relay *relay)
{
	ssize_t n = 1;

	for (ssize_t all = 0; n > 0 && all < DRAINED; all += n)
		n = pass_printed(relay);
}

static void take_signal(const struct relay *relay)
{
	struct signalfd_siginfo info;

	/* After a stop as well: the size may have changed meanwhile. */
	if (read(relay->signals, &info, sizeof(info)) > 0)
		copy_size(relay);
}

static void copy(struct relay *relay)
{
	enum { OUTER, INNER, SIGNALS, END, COUNT };
	bool going = true;

	while (going) {
		bool front = relay->keys && in_foreground(relay);
		struct pollfd fds[COUNT] = {
			[OUTER] = { front && relay->length < ROOM ? relay->outer : -1, POLLIN, 0 },
			[INNER] = { relay->inner, relay->length ? POLLIN | POLLOUT : POLLIN, 0 },
			[SIGNALS] = { relay->signals, POLLIN, 0 },
			[END] = { relay->end, POLLIN, 0 },
		};

		set_raw(relay, front);
		if (poll(fds, COUNT, front || !relay->keys ? -1 : BACKGROUND_MS) < 0 && errno != EINTR)
			break;
		if (fds[SIGNALS].revents)
			take_signal(relay);
		if (fds[OUTER].revents)
			going = take_typed(relay);
		if (fds[INNER].revents & POLLOUT)
			pass_typed(relay);
		if (fds[END].revents) {
			drain(relay);
			break;
		}
		if (fds[INNER].revents & (POLLIN | POLLHUP | POLLERR))
			going &= pass_printed(relay) >= 0;
	}
	set_raw(relay, false);
}

/* The process that copies. */
static void attend(struct relay *relay)
{
	static const int ignored[] = {
		SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGTTIN, SIGTTOU,
	};
	sigset_t awaited;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGWINCH);
	sigaddset(&awaited, SIGCONT);
	sigprocmask(SIG_SETMASK, &awaited, NULL);
	relay->signals = signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
	copy(relay);
	_exit(0);
}

int run_terminal_make(struct run *run)
{
	struct run_terminal *terminal = &run->terminal;
	struct relay relay = { 0 };
	struct winsize size = { 0 };
	struct termios mode;
	int end[2];

	*terminal = (struct run_terminal){ .slave = -1, .end = -1 };
	if (geteuid() || !run->user.given || !foreign(run))
		return 0;
	relay.outer = open_own();
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		terminal->replaces[fd] = isatty(fd);
		if (relay.outer < 0 && terminal->replaces[fd])
			relay.outer = fd;
	}
	terminal->apart = true;
	relay.keys = device_of(relay.outer) && device_of(relay.outer) == device_of(STDIN_FILENO) &&
		device_of(relay.outer) == device_of(STDOUT_FILENO);
	terminal->no_keys = !relay.keys;
	if (!terminal->replaces[STDOUT_FILENO] && !terminal->replaces[STDERR_FILENO]) {
		if (relay.outer > STDERR_FILENO)
			close(relay.outer);
		return 0;
	}
	tcgetattr(relay.outer, &relay.before);
	mode = relay.before;
	/* Lines get their ends from the caller's, which stays as it is. */
	if (!relay.keys)
		mode.c_oflag &= ~(tcflag_t)OPOST;
	ioctl(relay.outer, TIOCGWINSZ, &size);
	if (openpty(&relay.inner, &terminal->slave, NULL, &mode, &size) ||
	    fchown(terminal->slave, run->user.uid, (gid_t)-1) || pipe2(end, O_CLOEXEC) ||
	    fcntl(relay.inner, F_SETFL, O_NONBLOCK) || fcntl(relay.inner, F_SETFD, FD_CLOEXEC) ||
	    fcntl(terminal->slave, F_SETFD, FD_CLOEXEC) || (terminal->relay = fork()) < 0) {
		error_say("cannot make a terminal for a program of another user: %s",
			  strerror(errno));
		return -1;
	}
	if (!terminal->relay) {
		close(end[1]);
		/* It keeps the slave: else a program that closes its files would be hung up. */
		relay.end = end[0];
		attend(&relay);
	}
	close(end[0]);
	close(relay.inner);
	if (relay.outer > STDERR_FILENO)
		close(relay.outer);
	terminal->end = end[1];
	return 0;
}

/* The caller's terminal may be open elsewhere too: 3<>/dev/tty.  0 or the errno. */
static int keep_others(void)
{
	DIR *files = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!files)
		return errno;
	while ((entry = readdir(files))) {
		int fd = atoi(entry->d_name);

		if (fd > STDERR_FILENO && isatty(fd))
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	closedir(files);
	return 0;
}

int run_terminal_enter(const struct run_terminal *terminal)
{
	int input = terminal->slave;

	if (!terminal->apart)
		return 0;
	/* A program that waited for keys would wait forever. */
	if (terminal->no_keys)
		input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (input < 0 || setsid() < 0 ||
	    (terminal->slave >= 0 && ioctl(terminal->slave, TIOCSCTTY, 0)))
		return errno;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (terminal->replaces[fd] &&
		    dup2(fd == STDIN_FILENO ? input : terminal->slave, fd) < 0)
			return errno;
	return keep_others();
}

void run_terminal_made(struct run_terminal *terminal)
{
	if (terminal->slave >= 0)
		close(terminal->slave);
	terminal->slave = -1;
}

void run_terminal_end(struct run_terminal *terminal)
{
	if (terminal->end < 0)
		return;
	run_terminal_made(terminal);
	close(terminal->end);
	terminal->end = -1;
	while (waitpid(terminal->relay, NULL, 0) < 0 && errno == EINTR)
		;
}
