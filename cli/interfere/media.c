// SPDX-License-Identifier: GPL-2.0-or-later
/* Decodes a clip again and again, by ffmpeg or GStreamer, which made it before. */
#include <stdlib.h>

#include "base/text.h"
#include "interfere/program.h"

#define FRAMES "50"
#define SIZE_X "640"
#define SIZE_Y "360"
#define GSTREAMER "gst-launch-1.0"
#define FFMPEG "ffmpeg"

static char *missing(const char *variant)
{
	(void)variant;
	if (!program_exists(FFMPEG) && !program_exists(GSTREAMER))
		return text_format("there is neither ffmpeg nor gst-launch-1.0: apt install ffmpeg, or gstreamer1.0-tools gstreamer1.0-plugins-good");
	return NULL;
}

static int settle(struct work *work)
{
	work->words = text_format("%s decodes a clip of " FRAMES " frames, " SIZE_X " by " SIZE_Y ", again and again",
				  program_exists(FFMPEG) ? FFMPEG : GSTREAMER);
	return 0;
}

static void prepare(struct work *work)
{
	char *clip = text_format("%s/clip.avi", work->scratch);
	char *location = text_format("location=%s", clip);

	if (program_exists(FFMPEG))
		program_must(work, (const char *const []){ FFMPEG, "-nostdin", "-v", "error",
			"-f", "lavfi", "-i", "testsrc=size=" SIZE_X "x" SIZE_Y ":rate=25",
			"-frames:v", FRAMES, "-c:v", "mjpeg", "-q:v", "5", clip, NULL });
	else
		program_must(work, (const char *const []){ GSTREAMER, "-q", "videotestsrc",
			"num-buffers=" FRAMES, "!", "video/x-raw,width=" SIZE_X ",height=" SIZE_Y,
			"!", "jpegenc", "!", "avimux", "!", "filesink", location, NULL });
	free(location);
	free(clip);
}

static void run(struct work *work) __attribute__((noreturn));

static void run(struct work *work)
{
	bool ffmpeg = program_exists(FFMPEG);
	char *clip = text_format("%s/clip.avi", work->scratch);
	char *location = text_format("location=%s", clip);

	for (;;) {
		if (ffmpeg)
			program_must(work, (const char *const []){ FFMPEG, "-nostdin", "-v",
				"error", "-xerror", "-threads", "1", "-i", clip, "-f", "null", "-",
				NULL });
		else
			program_must(work, (const char *const []){ GSTREAMER, "-q", "filesrc",
				location, "!", "avidemux", "!", "jpegdec", "!", "fakesink",
				"sync=false", NULL });
		if (!work->slot->operations)
			work_ready(work);
		work_did(work->slot, (uint64_t)atoi(FRAMES));
	}
}

const struct work_type work_media = {
	.type = {
		.name = "media",
		.about = "decodes a video clip, by ffmpeg or GStreamer",
		.operation = "frames decoded",
	},
	.files = true,
	.missing = missing,
	.settle = settle,
	.prepare = prepare,
	.run = run,
};
