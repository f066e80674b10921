// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ivshmem.h"
#include "keeper.h"
#include "scope_lines.h"

#define FILES 256		/* that may have been handed down to us */
#define FIRST_CLIENT_MS 10000	/* without one by then nobody comes */

struct client {
	int socket;		/* -1: none */
	int id;
	int doorbells[KEEPER_VECTORS];
};

struct keeper {
	struct sockaddr_un address;
	int listener;
	int memory;
	int next_id;
	struct client clients[KEEPER_CLIENTS];
};

static volatile sig_atomic_t told_to_end;

static void tell_to_end(int signal)
{
	(void)signal;
	told_to_end = 1;
}

static void drop(struct keeper *keeper, int place)
{
	struct client *gone = &keeper->clients[place];

	if (gone->socket < 0)
		return;
	close(gone->socket);
	gone->socket = -1;
	for (int i = 0; i < KEEPER_VECTORS; i++)
		if (gone->doorbells[i] >= 0)
			close(gone->doorbells[i]);
	for (int i = 0; i < KEEPER_CLIENTS; i++)
		if (keeper->clients[i].socket >= 0 &&
		    !ivshmem_send(keeper->clients[i].socket, gone->id, -1))
			drop(keeper, i);
}

/* The doorbells of @of to @to. */
static bool introduce(struct keeper *keeper, int to, int of)
{
	for (int i = 0; i < KEEPER_VECTORS; i++)
		if (!ivshmem_send(keeper->clients[to].socket, keeper->clients[of].id,
				  keeper->clients[of].doorbells[i]))
			return false;
	return true;
}

static bool greet(struct keeper *keeper, int place)
{
	const struct client *client = &keeper->clients[place];

	if (!ivshmem_send(client->socket, IVSHMEM_VERSION, -1) ||
	    !ivshmem_send(client->socket, client->id, -1) ||
	    !ivshmem_send(client->socket, IVSHMEM_MEMORY, keeper->memory))
		return false;
	for (int i = 0; i < KEEPER_CLIENTS; i++)
		if (i != place && keeper->clients[i].socket >= 0 && !introduce(keeper, place, i))
			return false;
	return introduce(keeper, place, place);
}

/*
 * No id is given twice: QEMU frees what it has of a peer that goes, and writes there when one
 * of the same id comes.
 */
static void welcome(struct keeper *keeper)
{
	int socket = accept4(keeper->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *client;
	bool complete = true;
	int place = 0;

	if (socket < 0)
		return;
	while (place < KEEPER_CLIENTS && keeper->clients[place].socket >= 0)
		place++;
	if (place == KEEPER_CLIENTS || keeper->next_id == KEEPER_IDS) {
		close(socket);
		return;
	}
	client = &keeper->clients[place];
	client->socket = socket;
	client->id = keeper->next_id++;
	for (int i = 0; i < KEEPER_VECTORS; i++) {
		client->doorbells[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		complete &= client->doorbells[i] >= 0;
	}
	if (!complete || !greet(keeper, place)) {
		drop(keeper, place);
		return;
	}
	for (int i = 0; i < KEEPER_CLIENTS; i++)
		if (i != place && keeper->clients[i].socket >= 0 && !introduce(keeper, i, place))
			drop(keeper, i);
}

/* A client says nothing; it only goes. */
static bool has_gone(int socket)
{
	char nothing[64];
	ssize_t got = recv(socket, nothing, sizeof(nothing), MSG_DONTWAIT);

	return !got || (got < 0 && errno != EAGAIN && errno != EINTR);
}

static int count(const struct keeper *keeper)
{
	int clients = 0;

	for (int i = 0; i < KEEPER_CLIENTS; i++)
		clients += keeper->clients[i].socket >= 0;
	return clients;
}

static void serve(struct keeper *keeper)
{
	bool had_one = false;

	while (!told_to_end && (!had_one || count(keeper))) {
		struct pollfd files[1 + KEEPER_CLIENTS] = {
			{ .fd = keeper->listener, .events = POLLIN },
		};
		int ready;

		for (int i = 0; i < KEEPER_CLIENTS; i++)
			files[1 + i] = (struct pollfd){
				.fd = keeper->clients[i].socket, .events = POLLIN,
			};
		ready = poll(files, 1 + KEEPER_CLIENTS, had_one ? -1 : FIRST_CLIENT_MS);
		if (!ready)
			break;
		if (ready < 0)
			continue;
		for (int i = 0; i < KEEPER_CLIENTS; i++)
			if (files[1 + i].revents && keeper->clients[i].socket >= 0 &&
			    has_gone(keeper->clients[i].socket))
				drop(keeper, i);
		if (files[0].revents)
			welcome(keeper);
		had_one |= count(keeper) > 0;
	}
}

/* Of a size that no client can change: nobody's access can lead behind its end. */
static int make_memory(void)
{
	int memory = memfd_create("isolator-lines", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (memory < 0)
		return -1;
	if (ftruncate(memory, SCOPE_LINES_SIZE) ||
	    fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		close(memory);
		return -1;
	}
	return memory;
}

/* A socket that nobody listens at was left by one that was killed. */
static int clear_path(const struct sockaddr_un *address)
{
	struct stat there;

	if (lstat(address->sun_path, &there))
		return errno == ENOENT ? 0 : -1;
	if (!S_ISSOCK(there.st_mode)) {
		errno = EADDRINUSE;
		return -1;
	}
	return unlink(address->sun_path);
}

static int listen_at(const struct sockaddr_un *address)
{
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask;
	int failed;

	if (listener < 0)
		return -1;
	mask = umask(0177);	/* for this user only */
	failed = bind(listener, (const struct sockaddr *)address, sizeof(*address));
	umask(mask);
	if (failed || listen(listener, KEEPER_CLIENTS)) {
		close(listener);
		return -1;
	}
	return listener;
}

/* Neither a terminal nor a pipe shall wait for it. */
static void detach(const struct keeper *keeper, int here)
{
	const struct sigaction end = { .sa_handler = tell_to_end };
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	setsid();
	for (int file = 0; file < FILES; file++)
		if (file <= 2)
			dup2(nowhere, file);
		else if (file != keeper->listener && file != keeper->memory && file != here)
			close(file);
	if (chdir("/"))
		return;
	prctl(PR_SET_NAME, "isolator-keeper");
	sigemptyset(&none);
	sigaction(SIGTERM, &end, NULL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int keeper_begin(const char *path)
{
	struct keeper keeper = { .listener = -1, .memory = -1 };
	pid_t child = -1;

	for (int i = 0; i < KEEPER_CLIENTS; i++)
		keeper.clients[i].socket = -1;
	if (!ivshmem_address(&keeper.address, path) || clear_path(&keeper.address))
		return -1;
	keeper.memory = make_memory();
	if (keeper.memory >= 0)
		keeper.listener = listen_at(&keeper.address);
	if (keeper.listener >= 0)
		child = fork();
	if (!child) {
		/* The path may be relative: it is removed from where it was made. */
		int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

		detach(&keeper, here);
		serve(&keeper);
		unlinkat(here, keeper.address.sun_path, 0);
		_exit(0);
	}
	if (child < 0 && keeper.listener >= 0)
		unlink(path);
	if (keeper.memory >= 0)
		close(keeper.memory);
	if (keeper.listener >= 0)
		close(keeper.listener);
	return child < 0 ? -1 : 0;
}
