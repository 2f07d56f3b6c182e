/* System calls that fail, tear what they write, or are a program's last, by a plan.
 *
 * Preloaded before libc (LD_PRELOAD). Calls on files below a folder are counted; the one that the plan names fails, writes
 * half and fails, or ends the process as a power failure does: what was written and not flushed since is lost, in part, in
 * any order, to the half of a sector; so are files made or removed whose folder was not flushed. A seed decides which.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NONE, REFUSED, FULL, TORN, POWER };
enum { WRITTEN, CUT, MADE, REMOVED };
enum { MOST_FILES = 1024, MOST_STEPS = 4096, SECTOR = 512 };

/* What a power failure may take back. */
typedef struct {
  int kind, durable;
  char path[PATH_MAX / 8];
  off_t at, length; /* length: of the file before */
  size_t size, had;
  char *new, *old;
} Step;

static struct { long at, calls; int kind; unsigned seed; char below[PATH_MAX / 8]; } plan;
static Step steps[MOST_STEPS];
static int count;
static char *known[MOST_FILES]; /* paths of files, by descriptor */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void fault_plan(long at, int kind, unsigned seed, const char *below) {
  plan.at = at, plan.kind = kind, plan.seed = seed, plan.calls = 0, count = 0;
  snprintf(plan.below, sizeof plan.below, "%s", below);
}

long fault_calls(void) { return plan.calls; }

static int chance(int of) { return (int)(rand_r(&plan.seed) % (unsigned)of); }

static int is_ours(const char *path) {
  size_t size = strlen(path);
  return *plan.below && !strncmp(path, plan.below, strlen(plan.below)) && !(size > 4 && !strcmp(path + size - 4, "-shm"));
}

static const char *path_of(int file) { return file >= 0 && file < MOST_FILES ? known[file] : NULL; }

static Step *note(int kind, const char *path) {
  if (count == MOST_STEPS) abort();
  Step *step = &steps[count++];
  memset(step, 0, sizeof *step);
  step->kind = kind;
  snprintf(step->path, sizeof step->path, "%s", path);
  return step;
}

static void undo(Step *step) {
  int file;
  if (step->kind == REMOVED) {
    REAL(rename)(step->old, step->path);
  } else if (step->kind != MADE && (file = REAL(open)(step->path, O_RDWR)) >= 0) {
    if (step->kind == WRITTEN && REAL(pwrite)(file, step->old, step->had, step->at) < 0) abort();
    if (REAL(ftruncate)(file, step->length)) abort();
    REAL(close)(file);
  }
}

static void redo(Step *step) {
  int file;
  if (step->kind == REMOVED) {
    REAL(unlink)(step->path);
  } else if (step->kind != MADE && (file = REAL(open)(step->path, O_RDWR)) >= 0) {
    if (step->kind == CUT && REAL(ftruncate)(file, step->at)) abort();
    for (size_t at = 0; step->kind == WRITTEN && at < step->size; at += SECTOR) {
      size_t part = step->size - at < SECTOR ? step->size - at : SECTOR;
      int luck = chance(4);
      if (luck && REAL(pwrite)(file, step->new + at, luck == 1 ? part / 2 : part, step->at + (off_t)at) < 0) abort();
    }
    REAL(close)(file);
  }
}

static void lose_power(void) {
  int is_kept = chance(3) == 0; /* sometimes all that was written is there, and nothing more */
  for (int i = count - 1; !is_kept && i >= 0; i--)
    if (!steps[i].durable) undo(&steps[i]);
  for (int i = 0; !is_kept && i < count; i++)
    if (!steps[i].durable && chance(2)) redo(&steps[i]);
  for (int i = 0; !is_kept && i < count; i++)
    if (steps[i].kind == MADE && !steps[i].durable && chance(2)) REAL(unlink)(steps[i].path);
  _exit(77);
}

/* Whether this call is the one that fails; it does not return from a power failure. */
static int fails(int can_tear) {
  if (++plan.calls != plan.at || plan.kind == NONE) return NONE;
  if (plan.kind == POWER) lose_power();
  errno = plan.kind == FULL ? ENOSPC : EIO;
  return plan.kind == TORN && !can_tear ? REFUSED : plan.kind;
}

static int opened(const char *path, int flags, int mode, int (*really)(const char *, int, ...)) {
  char whole[PATH_MAX / 8];
  snprintf(whole, sizeof whole, "%s", path);
  pthread_mutex_lock(&lock);
  int file = -1, ours = is_ours(whole), is_new = ours && (flags & O_CREAT) && access(whole, F_OK);
  if (!ours || !(flags & O_CREAT) || !fails(0)) {
    file = really(path, flags, mode);
    if (file >= 0 && file < MOST_FILES) {
      free(known[file]);
      known[file] = ours ? strdup(whole) : NULL;
      if (is_new) note(MADE, whole);
    }
  }
  pthread_mutex_unlock(&lock);
  return file;
}

#define OPEN(name)                                                                                \
  int name(const char *path, int flags, ...) {                                                    \
    va_list more;                                                                                 \
    va_start(more, flags);                                                                        \
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;                                           \
    va_end(more);                                                                                 \
    return opened(path, flags, mode, REAL(name));                                                 \
  }
OPEN(open)
OPEN(open64)

int close(int file) {
  if (path_of(file)) free(known[file]), known[file] = NULL;
  return REAL(close)(file);
}

static ssize_t written(int file, const void *from, size_t size, off_t at) {
  pthread_mutex_lock(&lock);
  int wrong = fails(1);
  ssize_t done = -1;
  if (!wrong || wrong == TORN) {
    struct stat now;
    if (fstat(file, &now)) abort();
    Step *step = note(WRITTEN, path_of(file));
    step->at = at, step->size = wrong ? size / 2 : size, step->length = now.st_size;
    step->new = malloc(size + 1), step->old = malloc(size + 1);
    memcpy(step->new, from, size);
    ssize_t had = pread(file, step->old, size, at);
    step->had = had > 0 ? (size_t)had : 0;
    done = REAL(pwrite)(file, from, step->size, at);
    if (wrong) done = -1, errno = EIO;
  }
  pthread_mutex_unlock(&lock);
  return done;
}

ssize_t pwrite(int file, const void *from, size_t size, off_t at) {
  return path_of(file) ? written(file, from, size, at) : REAL(pwrite)(file, from, size, at);
}
ssize_t pwrite64(int file, const void *from, size_t size, off64_t at) {
  return path_of(file) ? written(file, from, size, at) : REAL(pwrite64)(file, from, size, at);
}
ssize_t write(int file, const void *from, size_t size) {
  if (!path_of(file)) return REAL(write)(file, from, size);
  off_t at = lseek(file, 0, SEEK_CUR);
  ssize_t done = written(file, from, size, at);
  if (done > 0) lseek(file, at + done, SEEK_SET);
  return done;
}

static int cut(int file, off_t length) {
  pthread_mutex_lock(&lock);
  int done = -1;
  if (!fails(0)) {
    struct stat now;
    if (fstat(file, &now)) abort();
    Step *step = note(CUT, path_of(file));
    step->at = length, step->length = now.st_size;
    done = REAL(ftruncate)(file, length);
  }
  pthread_mutex_unlock(&lock);
  return done;
}
int ftruncate(int file, off_t length) { return path_of(file) ? cut(file, length) : REAL(ftruncate)(file, length); }
int ftruncate64(int file, off64_t length) { return path_of(file) ? cut(file, length) : REAL(ftruncate64)(file, length); }

/* A file's bytes, or a folder's entries, are there for good. */
static int flushed(int file, int (*really)(int)) {
  pthread_mutex_lock(&lock);
  int done = fails(0) ? -1 : really(file);
  const char *path = path_of(file);
  size_t size = strlen(path);
  for (int i = 0; !done && i < count; i++) {
    Step *step = &steps[i];
    int is_inside = !strncmp(step->path, path, size) && step->path[size] == '/';
    if (step->kind == WRITTEN || step->kind == CUT ? strcmp(step->path, path) : !is_inside) continue;
    step->durable = 1;
    /* What was written to a file that is gone for good does not come back into another of its name. */
    for (int before = 0; step->kind == REMOVED && before < i; before++)
      if (!strcmp(steps[before].path, step->path)) steps[before].durable = 1;
  }
  pthread_mutex_unlock(&lock);
  return done;
}
int fsync(int file) { return path_of(file) ? flushed(file, REAL(fsync)) : REAL(fsync)(file); }
int fdatasync(int file) { return path_of(file) ? flushed(file, REAL(fdatasync)) : REAL(fdatasync)(file); }

int unlink(const char *path) {
  static int number;
  if (!is_ours(path)) return REAL(unlink)(path);
  pthread_mutex_lock(&lock);
  int done = -1;
  if (!fails(0)) {
    char copy[PATH_MAX / 8];
    snprintf(copy, sizeof copy, "%.400s.gone%d", path, number++);
    int is_there = !link(path, copy);
    done = REAL(unlink)(path);
    if (is_there) note(REMOVED, path)->old = strdup(copy);
  }
  pthread_mutex_unlock(&lock);
  return done;
}

static int named(const char *from, const char *to, int (*really)(const char *, const char *)) {
  if (!is_ours(to)) return really(from, to);
  pthread_mutex_lock(&lock);
  int was_there = !access(to, F_OK), done = fails(0) ? -1 : really(from, to);
  if (!done && !was_there) note(MADE, to);
  pthread_mutex_unlock(&lock);
  return done;
}
int rename(const char *from, const char *to) { return named(from, to, REAL(rename)); }
int link(const char *from, const char *to) {
  /* Ours above keeps a copy of what is removed. */
  return strstr(to, ".gone") ? REAL(link)(from, to) : named(from, to, REAL(link));
}
