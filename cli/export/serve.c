// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/wait.h"
#include "export/http.h"
#include "export/serve.h"

#define PEERS 16
#define PATIENCE (5 * WAIT_SECOND)	/* for a request, and once more for its answer */
#define DEAF WAIT_SECOND		/* after an accept(2) that failed */
#define IDLE (3600 * WAIT_SECOND)
#define OPEN(format) (1U << (format))

/* A client: asks, is answered, and has to close. */
struct peer {
	int file;		/* -1: this place is free */
	uint64_t until_ns;	/* then it is closed */
	char request[HTTP_MOST];
	size_t got;
	char *answer;		/* NULL: it still asks */
	size_t size, sent;
};

struct server {
	int file;
	bool by_name;
	unsigned int formats;
	serve_text text;
	uint64_t deaf_until_ns;
	struct peer peers[PEERS];
};

static void close_peer(struct peer *peer)
{
	close(peer->file);
	free(peer->answer);
	peer->answer = NULL;
	peer->file = -1;
}

static void make_answer(const struct server *server, struct peer *peer, unsigned int status,
			const struct http_request *request)
{
	enum exposition_format format = EXPOSITION_PROMETHEUS;
	size_t size;
	char *text;

	if (server->formats == OPEN(EXPOSITION_OPENMETRICS) ||
	    (server->formats & OPEN(EXPOSITION_OPENMETRICS) && request->openmetrics))
		format = EXPOSITION_OPENMETRICS;
	if (status == 200 && server->text(format, &text, &size))
		status = 500;
	if (status == 200) {
		peer->answer = http_answer(200, exposition_content(format), request, text, size,
					   &peer->size);
		free(text);
	} else {
		peer->answer = http_error(status, request, &peer->size);
	}
	peer->sent = 0;
	peer->until_ns = wait_clock_ns() + PATIENCE;
}

static void send_some(struct peer *peer)
{
	ssize_t n = send(peer->file, peer->answer + peer->sent, peer->size - peer->sent,
			 MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		close_peer(peer);
		return;
	}
	peer->sent += (size_t)n;
	/* It closes when it has read all; what it still sends is not answered by a reset. */
	if (peer->sent == peer->size)
		shutdown(peer->file, SHUT_WR);
}

static void receive(const struct server *server, struct peer *peer)
{
	struct http_request request;
	unsigned int status;
	ssize_t n;

	/* Once there is an answer, what else comes is read only to be forgotten. */
	if (peer->answer)
		peer->got = 0;
	n = recv(peer->file, peer->request + peer->got, sizeof(peer->request) - peer->got, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_peer(peer);
		return;
	}
	if (peer->answer)
		return;
	peer->got += (size_t)n;
	status = http_parse(peer->request, peer->got, &request);
	if (status == 200 && request.by_name && !server->by_name)
		status = 421;
	if (status) {
		make_answer(server, peer, status, &request);
		send_some(peer);
	}
}

/* A free place; else that of the one who has had it for longest. */
static struct peer *place(struct server *server)
{
	struct peer *oldest = &server->peers[0];

	for (size_t i = 0; i < PEERS; i++) {
		if (server->peers[i].file < 0)
			return &server->peers[i];
		if (server->peers[i].until_ns < oldest->until_ns)
			oldest = &server->peers[i];
	}
	close_peer(oldest);
	return oldest;
}

static void take(struct server *server)
{
	int file = accept4(server->file, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct peer *peer;

	if (file < 0) {
		/* Without room for one more it would come back here at once, for ever. */
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			server->deaf_until_ns = wait_clock_ns() + DEAF;
		return;
	}
	peer = place(server);
	peer->file = file;
	peer->got = 0;
	peer->until_ns = wait_clock_ns() + PATIENCE;
}

/* Who began to ask is told why that was not enough. */
static void end_late(const struct server *server, struct peer *peer)
{
	const struct http_request request = { 0 };

	if (peer->answer || !peer->got) {
		close_peer(peer);
		return;
	}
	make_answer(server, peer, 408, &request);
	send_some(peer);
}

/* Fills @files, the listening socket first; when to look again without any of them. */
static uint64_t look(const struct server *server, struct pollfd *files)
{
	uint64_t now = wait_clock_ns(), until = now + IDLE;
	bool deaf = now < server->deaf_until_ns;

	/* A negative one is passed over. */
	files[0] = (struct pollfd){ .fd = deaf ? -1 : server->file, .events = POLLIN };
	if (deaf)
		until = server->deaf_until_ns;
	for (size_t i = 0; i < PEERS; i++) {
		const struct peer *peer = &server->peers[i];
		bool sends = peer->answer && peer->sent < peer->size;

		files[1 + i] = (struct pollfd){ .fd = peer->file,
						.events = sends ? POLLOUT : POLLIN };
		if (peer->file >= 0 && peer->until_ns < until)
			until = peer->until_ns;
	}
	return until;
}

void serve(int file, bool by_name, unsigned int formats, serve_text text)
{
	static struct server server;
	struct pollfd files[1 + PEERS];

	server = (struct server){
		.file = file, .by_name = by_name, .formats = formats, .text = text,
	};
	for (size_t i = 0; i < PEERS; i++)
		server.peers[i].file = -1;
	while (wait_files(files, 1 + PEERS, look(&server, files)) != WAIT_OVER) {
		for (size_t i = 0; i < PEERS; i++) {
			struct peer *peer = &server.peers[i];

			if (files[1 + i].revents & POLLOUT)
				send_some(peer);
			else if (files[1 + i].revents)
				receive(&server, peer);
			if (peer->file >= 0 && wait_clock_ns() >= peer->until_ns)
				end_late(&server, peer);
		}
		/* Last: a place that is taken over has been looked at. */
		if (files[0].revents)
			take(&server);
	}
	for (size_t i = 0; i < PEERS; i++)
		if (server.peers[i].file >= 0)
			close_peer(&server.peers[i]);
}
