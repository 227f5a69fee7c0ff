#!/usr/bin/env python3
"""Predicts, runs and compares under many circumstances, on a machine with a GPU.

    tests/gpu/predict_and_run.py GPUWRIGHT PYTHON [PYTHON ...]

For each interpreter and each circumstance (values of CUDA_VISIBLE_DEVICES, a compat or stubs directory
first on LD_LIBRARY_PATH, hidden libraries, hidden device nodes, another user): `gpuwright check` predicts,
`gpuwright check --run` runs, and a bare interpreter imports the framework, lists its GPUs and multiplies.
A prediction is wrong when it is not what the bare framework did; a run is wrong when its answer is not.
What hides files or nodes is done in a mount namespace of its own, and left out where that is not allowed.
One variable is set for all: XLA_PYTHON_CLIENT_PREALLOCATE=false, since several of them run at once.

    --json FILE      writes everything that was seen
    --jobs N         circumstances at once (4)
    --time SECONDS   starts nothing more after so long (480)
    --step SECONDS   limit of one program (90)
    --only TEXT      circumstances whose name holds TEXT; may be given several times
    --list           prints the circumstances and ends
    --without-gpu    does not leave where there is no GPU, to try this script

Prints a table and a line of counts. Exit status 1 for a wrong prediction or run, 0 otherwise.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MARK = "BARE-RESULT "
# Independent of gpuwright's own script on purpose: the two are to agree.
BARE = r"""
import json, os, sys
if sys.path and sys.path[0] == '':
    del sys.path[0]
out, name = os.dup(1), sys.argv[1]
seen = {'imported': False, 'devices': 0, 'sum': None, 'error': ''}
try:
    module = __import__(name)
    seen['imported'] = True
    if name == 'torch':
        seen['devices'] = module.cuda.device_count() if module.cuda.is_available() else 0
        if seen['devices']:
            ones = module.ones(32, 32, device='cuda')
            seen['sum'] = float((ones @ ones).sum().cpu())
    elif name == 'jax':
        import jax.numpy
        gpus = [d for d in module.devices() if d.platform in ('gpu', 'cuda')]
        seen['devices'] = len(gpus)
        if gpus:
            ones = jax.numpy.ones((32, 32))
            seen['sum'] = float((ones @ ones).sum())
    else:
        gpus = module.config.list_physical_devices('GPU')
        seen['devices'] = len(gpus)
        for gpu in gpus:
            module.config.experimental.set_memory_growth(gpu, True)
        if gpus:
            with module.device('/GPU:0'):
                ones = module.ones((32, 32))
                seen['sum'] = float(module.reduce_sum(ones @ ones))
except BaseException as error:
    seen['error'] = (type(error).__name__ + ': ' + str(error))[:300].replace('\n', ' ')
os.write(out, ('\nBARE-RESULT ' + json.dumps(seen) + '\n').encode())
os._exit(0)
"""
FRAMEWORKS = ("tensorflow", "torch", "jax")


class Circumstance:
    """Changes of the environment, and a shell text that prepares a mount namespace."""

    def __init__(self, name, variables=None, setup="", user=None):
        self.name, self.variables, self.setup, self.user = name, variables or {}, setup, user

    def environment(self):
        environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        for name, value in self.variables.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
        if self.user is not None:
            environment["HOME"] = "/tmp"
        return environment

    def wrap(self, words):
        if self.user is not None:
            words = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups",
                     # setpriv itself still looks up the program with root's rights
                     "sh", "-c", 'exec "$@"', "sh"] + words
        if self.setup:
            text = "set -e\n" + self.setup + '\nset +e\nexec "$@"'
            words = ["unshare", "-m", "--propagation", "private", "sh", "-c", text, "sh"] + words
        return words


def run(words, environment, limit):
    """Status (None: no answer in time), standard output and standard error."""
    child = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True, cwd="/")
    try:
        out, err = child.communicate(timeout=limit)
        return child.returncode, out.decode(errors="replace"), err.decode(errors="replace")
    except subprocess.TimeoutExpired:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except OSError:
            pass
        try:
            out, err = child.communicate(timeout=5)
        except subprocess.TimeoutExpired:  # not even SIGKILL ends it: left behind
            out, err = b"", b""
        return None, out.decode(errors="replace"), err.decode(errors="replace")


# ------------------------------------------------------------------------------------ circumstances

def before(directory):
    """LD_LIBRARY_PATH with `directory` in front."""
    rest = os.environ.get("LD_LIBRARY_PATH", "")
    return {"LD_LIBRARY_PATH": directory + (":" + rest if rest else "")}


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def private_dev(nodes, make=""):
    """A /dev of its own with the usual devices and those of NVIDIA's nodes that `nodes` matches."""
    return (
        "old=$(mktemp -d); mount --bind /dev $old; mount -t tmpfs -o mode=755 tmpfs /dev\n"
        "for n in null zero full random urandom tty; do if [ -e $old/$n ]; then"
        " touch /dev/$n; mount --bind $old/$n /dev/$n; fi; done\n"
        "mkdir /dev/shm; mount -t tmpfs -o mode=1777 tmpfs /dev/shm\n"
        "ln -s /proc/self/fd /dev/fd\n"
        f"for p in {nodes}; do for f in $old/$p; do if [ -c $f ]; then n=/dev/$(basename $f);"
        " touch $n; mount --bind $f $n; fi; done; done\n" + make)


def without_file(path):
    """The directory of `path` without the file and its links: links to the rest, out of the way."""
    directory, stem = os.path.dirname(path), os.path.basename(path).split(".so")[0]
    return (
        f"d={quoted(directory)}; old=$(mktemp -d); chmod 755 $old; mount --bind $d $old\n"
        "mount -t tmpfs -o mode=755 tmpfs $d\n"
        f"for f in $old/*; do case $(basename $f) in {stem}.so*) ;; *) ln -s $f $d/;; esac; done\n")


def with_empty_file(path):
    return f"e=$(mktemp); chmod 644 $e; mount --bind $e {quoted(path)}\n"


def visible_devices(uuids):
    values = [None, "", "-1", "0", "7", "0,0", "0,7", "7,0", "0,-1", " 0", "0gpu", '"0"', "none", "NoDevFiles",
              "GPU-bogus", "MIG-bogus"]
    if uuids:
        values += [uuids[0], uuids[0][:12], uuids[0].lower(), uuids[0] + "," + uuids[0]]
    if len(uuids) > 1:
        values += ["1", "1,0", "0,1", ",".join(uuids)]
    for value in values:
        name = "unset" if value is None else repr(value)
        yield Circumstance("CUDA_VISIBLE_DEVICES=" + name, {"CUDA_VISIBLE_DEVICES": value})


def library_directories(work, libraries):
    for compat in sorted(set(map(os.path.realpath, glob.glob("/usr/local/cuda*/compat")))):
        if os.path.exists(compat + "/libcuda.so.1"):
            yield Circumstance("compat first: " + compat, before(compat))
    stubs = sorted(set(map(os.path.realpath, glob.glob("/usr/local/cuda*/lib64/stubs/libcuda.so")
                           + glob.glob("/usr/local/cuda*/targets/*/lib/stubs/libcuda.so"))))
    if stubs:
        place = os.path.join(work, "stubs")
        os.makedirs(place, exist_ok=True)
        shutil.copy(stubs[0], place + "/libcuda.so.1")
        yield Circumstance("a stub as libcuda.so.1", before(place))
        yield Circumstance("the stubs directory", before(os.path.dirname(stubs[0])))
        yield Circumstance("a stub in LD_PRELOAD", {"LD_PRELOAD": place + "/libcuda.so.1"})
    for toolkit in ("/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu"):
        if os.path.isdir(toolkit):
            yield Circumstance("first on the path: " + toolkit, before(toolkit))
    place = os.path.join(work, "copies")
    os.makedirs(place, exist_ok=True)
    copied = 0
    for pattern in ("libcudart.so.1*", "libcudnn.so.*", "libnvJitLink.so.1*", "libnvrtc.so.1*"):
        for path in glob.glob("/usr/local/cuda*/lib64/" + pattern) + glob.glob("/usr/lib/x86_64-linux-gnu/" + pattern):
            target = os.path.join(place, os.path.basename(path))
            if os.path.exists(target) or os.path.getsize(path) > 150 << 20:
                continue
            shutil.copy(path, target)
            copied += 1
    if copied:
        yield Circumstance(f"{copied} copied libraries of the system", before(place))
    place = os.path.join(work, "empty")
    os.makedirs(place, exist_ok=True)
    open(place + "/libcuda.so.1", "w").close()
    yield Circumstance("an empty libcuda.so.1", before(place))
    yield Circumstance("LD_LIBRARY_PATH unset", {"LD_LIBRARY_PATH": None})
    if "libcuda.so.1" in libraries:
        copy = os.path.join(work, "copy")
        os.makedirs(copy, exist_ok=True)
        shutil.copy(libraries["libcuda.so.1"], copy + "/libcuda.so.1")
        yield Circumstance("a copy of the driver's libcuda.so.1", before(copy))


def variables(work):
    yield Circumstance("CUDA_DEVICE_ORDER=PCI_BUS_ID", {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    yield Circumstance("JAX_PLATFORMS=cpu", {"JAX_PLATFORMS": "cpu"})
    yield Circumstance("JAX_PLATFORMS=cuda", {"JAX_PLATFORMS": "cuda"})
    yield Circumstance("PYTHONNOUSERSITE=1", {"PYTHONNOUSERSITE": "1"})
    pipes = os.path.join(work, "mps")
    os.makedirs(pipes, exist_ok=True)
    yield Circumstance("an empty CUDA_MPS_PIPE_DIRECTORY", {"CUDA_MPS_PIPE_DIRECTORY": pipes})


def namespaces(libraries):
    nodes = "'nvidia*' 'dxg'"
    yield Circumstance("a private /dev with all nodes", setup=private_dev(nodes))
    yield Circumstance("no nodes", setup=private_dev(""))
    yield Circumstance("no nvidia-uvm", setup=private_dev("'nvidia[0-9]*' nvidiactl nvidia-modeset"))
    yield Circumstance("no nvidiactl", setup=private_dev("'nvidia[0-9]*' 'nvidia-*'"))
    yield Circumstance("no nvidia0", setup=private_dev("'nvidia[1-9]*' nvidiactl 'nvidia-*'"))
    for name, label in (("libnvidia-ml.so.1", "NVML"), ("libcuda.so.1", "libcuda")):
        if name in libraries:
            yield Circumstance(label + " hidden", setup=without_file(libraries[name]))
            yield Circumstance(label + " empty", setup=with_empty_file(libraries[name]))
    yield Circumstance("as nobody", user=65534)
    make = ("for f in $old/nvidia*; do if [ -c $f ]; then n=/dev/$(basename $f);"
            " mknod -m 600 $n c $(stat -c '0x%t 0x%T' $f); fi; done\n")
    yield Circumstance("as nobody, nodes for root alone", setup=private_dev("", make), user=65534)


def allowed(circumstance, options):
    """Why the circumstance cannot be had here; empty when it can."""
    if not circumstance.setup and circumstance.user is None:
        return ""
    programs = [["/bin/true"], [options.gpuwright, "version"]]
    if circumstance.user is not None:  # whose files may not be another user's
        programs += [[python, "-c", ""] for python in options.python]
    for words in programs:
        try:
            status, _, err = run(circumstance.wrap(words), circumstance.environment(), options.step)
        except OSError as error:
            return str(error)
        if status != 0:
            return err.strip().split("\n")[-1] or f"status {status} of {words[0]}"
    return ""


# ---------------------------------------------------------------------------------------- one look

def report_of(out):
    try:
        return json.loads(out)
    except ValueError:
        return None


def by_name(items):
    return {item["framework"]: item for item in items}


def bare(python, name, circumstance, step):
    status, out, err = run(circumstance.wrap([python, "-c", BARE, name]), circumstance.environment(), step)
    for line in reversed(out.split("\n")):
        if line.startswith(MARK):
            return report_of(line[len(MARK):])
    ending = "no answer" if status is None else f"status {status}"
    return {"imported": False, "devices": 0, "sum": None, "error": ending + " " + err.strip()[-200:]}


def works(seen):
    return seen["devices"] > 0 and seen["sum"] == 32.0 ** 3


def compare(name, predicted, ran, seen):
    """One row: what was predicted, what the run says, what the bare framework did."""
    run_facts = by_name((ran.get("run") or {}).get("frameworks", [])).get(name, {})
    answers = by_name(ran["frameworks"]).get(name, {})
    findings = [f["id"] for f in ran["findings"]]
    row = {
        "framework": name,
        "predicted": predicted["answer"], "predicted_gpus": len(predicted["gpus"]),
        "because": predicted["finding"] or "", "statement": predicted["because"] or "",
        "ran": answers.get("answer", ""), "confidence": answers.get("confidence"),
        "run_result": run_facts.get("result", ""), "run_findings": findings,
        "bare": seen, "real": "uses" if works(seen) else "does-not",
    }
    row["open"] = predicted["answer"] == "cannot-tell"
    row["wrong"] = not row["open"] and (
        predicted["answer"] != row["real"]
        or (row["real"] == "uses" and predicted["gpus"] and len(predicted["gpus"]) != seen["devices"]))
    row["run_wrong"] = row["ran"] != row["real"] or (
        len((run_facts.get("devices") or {}).get("value") or []) != seen["devices"])
    row["untold"] = row["wrong"] and not any(f.startswith("framework.run-differs") for f in findings)
    row["files_differ"] = "framework.libraries-differ" in findings
    return row


def look(gpuwright, python, circumstance, step):
    check = [gpuwright, "check", "--format", "json", "--python", python]
    environment = circumstance.environment()
    started = time.monotonic()
    _, out, err = run(circumstance.wrap(check), environment, step)
    prediction = report_of(out)
    if prediction is None:
        return {"failed": "check: " + err.strip()[-300:], "rows": []}
    _, out, err = run(circumstance.wrap(check + ["--run", "--run-timeout", str(int(step))]), environment, 4 * step)
    ran = report_of(out)
    if ran is None:
        return {"failed": "check --run: " + err.strip()[-300:], "rows": []}
    rows = [compare(answer["framework"], answer, ran, bare(python, answer["framework"], circumstance, step))
            for answer in prediction["frameworks"] if answer["framework"] in FRAMEWORKS]
    facts = ran.get("run") or {}
    value = lambda key: ((facts.get(key) or {}).get("value") or {}).get("result", "")
    return {"failed": "", "rows": rows, "cuda": value("driver"), "nvml": value("nvml"),
            "predicted_findings": [f["id"] for f in prediction["findings"]],
            "run_findings": [f["id"] for f in ran["findings"]],
            "seconds": round(time.monotonic() - started, 1)}


# ------------------------------------------------------------------------------------------- output

def print_row(circumstance, row, width):
    mark = "WRONG" if row["wrong"] else "open" if row["open"] else "ok"
    if row["run_wrong"]:
        mark += " RUN-WRONG"
    said = row["predicted"] + (f" {row['predicted_gpus']}" if row["predicted"] == "uses" else "")
    did = row["real"] + (f" {row['bare']['devices']}" if row["bare"]["devices"] else "")
    print(f"{circumstance:{width}}  {row['framework']:10}  {said:11}  {did:10}  {row['ran']:11}  {mark:15}  "
          f"{row['because']}")
    if row["wrong"] or row["run_wrong"] or row["open"]:
        for label, text in (("predicted", row["statement"]), ("bare", row["bare"]["error"]),
                            ("run", row["run_result"]), ("findings", ", ".join(row["run_findings"]))):
            if text:
                print(f"    {label}: {text[:300]}")


def machine_of(gpuwright, step):
    _, out, _ = run([gpuwright, "snapshot", "--no-redact"], dict(os.environ), step)
    return (report_of(out) or {}).get("machine", {})


def known(fact, otherwise):
    return (fact or {}).get("value", otherwise)


def has_gpu():
    return bool(glob.glob("/dev/nvidia[0-9]*") or os.path.exists("/dev/dxg"))


def parse(arguments):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("gpuwright")
    parser.add_argument("python", nargs="+")
    parser.add_argument("--json")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--time", type=float, default=480)
    parser.add_argument("--step", type=float, default=90)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--without-gpu", action="store_true")
    return parser.parse_args(arguments)


def chosen(options, work):
    machine = machine_of(options.gpuwright, options.step)
    libraries = {item["name"]: item["real_path"]
                 for item in known(machine.get("driver", {}).get("libraries"), []) if item["chosen"]}
    uuids = [known(gpu.get("uuid"), "") for gpu in known(machine.get("hardware", {}).get("driver_gpus"), [])]
    everything = list(visible_devices([uuid for uuid in uuids if uuid]))
    everything += library_directories(work, libraries)
    everything += variables(work)
    everything += namespaces(libraries)
    return [c for c in everything if not options.only or any(text in c.name for text in options.only)]


def examine(options, circumstances):
    """Yields (python, circumstance, result) in the order given; `result` is None past the time."""
    end = time.monotonic() + options.time
    todo = [(python, circumstance) for python in options.python for circumstance in circumstances]

    def one(item):
        python, circumstance = item
        if time.monotonic() > end:
            return None
        return look(options.gpuwright, python, circumstance, options.step)

    yield (*todo[0], one(todo[0]))  # fills the page cache before others compete for it
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, options.jobs)) as pool:
        for item, result in zip(todo[1:], pool.map(one, todo[1:])):
            yield (*item, result)


def main(arguments):
    options = parse(arguments)
    options.gpuwright = os.path.abspath(options.gpuwright)
    options.python = [os.path.abspath(p) if "/" in p else shutil.which(p) or p for p in options.python]
    if not has_gpu() and not options.without_gpu:
        print("skipped: no GPU")
        return 0
    work = tempfile.mkdtemp(prefix="predict-and-run-")
    os.chmod(work, 0o755)  # another user reads it too
    try:
        return compare_all(options, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def compare_all(options, work):
    circumstances, refused = [], []
    for circumstance in chosen(options, work):
        why = allowed(circumstance, options)
        if why:
            refused.append({"circumstance": circumstance.name, "why": why})
        else:
            circumstances.append(circumstance)
    if options.list or not circumstances:
        print("\n".join(c.name for c in circumstances))
        return 0
    width = max(len(c.name) for c in circumstances)
    print(f"{'circumstance':{width}}  {'framework':10}  {'predicted':11}  {'bare':10}  {'check --run':11}  ")
    results, failed, late = [], 0, []
    for python, circumstance, result in examine(options, circumstances):
        if result is None:
            late.append(circumstance.name)
            continue
        results.append({"python": python, "circumstance": circumstance.name, **result})
        if result["failed"]:
            failed += 1
            print(f"{circumstance.name:{width}}  FAILED {result['failed']}")
        for row in result["rows"]:
            print_row(circumstance.name, row, width)
        sys.stdout.flush()
    rows = [row for result in results for row in result["rows"]]
    count = lambda key: sum(bool(row[key]) for row in rows)
    summary = {"compared": len(rows), "wrong": count("wrong"), "open": count("open"), "run_wrong": count("run_wrong"),
               "wrong_and_untold": count("untold"), "files_differ": count("files_differ"), "failed": failed,
               "not_allowed": len(refused), "out_of_time": len(late)}
    for item in refused:
        print(f"not allowed here: {item['circumstance']}: {item['why']}")
    if late:
        print("out of time: " + ", ".join(late))
    print(json.dumps(summary))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"summary": summary, "not_allowed": refused, "results": results}, file, indent=1)
    return 1 if summary["wrong"] or summary["run_wrong"] or failed or not rows else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
