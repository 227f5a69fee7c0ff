#!/usr/bin/env python3
"""Compares what gpuwright says a framework will load with what a real process maps.

    tests/gpu/compare_maps.py GPUWRIGHT PYTHON [FRAMEWORK ...]

For each framework (default: torch, jax, tensorflow; those that PYTHON does not have are left out) and
each of five environments, a child imports the framework, asks for its devices and multiplies two
matrices; /proc/self/maps after the import and at the end is the truth. The prediction is
`gpuwright snapshot --no-redact --python PYTHON` under the same environment: rows with when = import
must equal the first set, those with import or query, and device where the process has a device, the
second. Exit status 1 on any difference.
"""
import json
import os
import re
import subprocess
import sys

LIBRARY = re.compile(
    r"lib(cuda|cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|cusparseLt|cudnn\w*|nccl|nvrtc|"
    r"nvrtc-builtins|nvJitLink|cupti|nvidia-ml|nvshmem_host|cufile|stdc\+\+)(-[0-9a-f]{8})?\.so")
ENVIRONMENTS = [
    {},
    {"CUDA_VISIBLE_DEVICES": ""},
    {"CUDA_VISIBLE_DEVICES": "0,0"},
    {"CUDA_VISIBLE_DEVICES": "9"},
    {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"},
]
CHILD = r"""
import sys
def maps(tag):
    for line in open('/proc/self/maps'):
        part = line.rstrip('\n').split(None, 5)
        if len(part) == 6 and '.so' in part[5]:
            print(tag, part[5])
name = sys.argv[1]
module = __import__(name)
maps('IMPORT')
try:
    if name == 'torch':
        available, count = module.cuda.is_available(), module.cuda.device_count()
        print('DEVICES', count if available else 0)
        if module.cuda.is_available():
            ones = module.ones(8, 8, device='cuda')
            print('SUM', float((ones @ ones).sum()))
    elif name == 'jax':
        print('DEVICES', sum(d.platform == 'gpu' for d in module.devices()))
        import jax.numpy as np
        print('SUM', float((np.ones((8, 8)) @ np.ones((8, 8))).sum()))
    else:
        print('DEVICES', len(module.config.list_physical_devices('GPU')))
        print('SUM', float(module.reduce_sum(module.ones((8, 8)) @ module.ones((8, 8)))))
except BaseException as error:
    print('ERROR', type(error).__name__, str(error)[:200].replace('\n', ' '))
maps('USED')
"""


def real(python, name, environment):
    run = subprocess.run([python, "-c", CHILD, name], env=environment, capture_output=True, text=True)
    sets, devices = {"IMPORT": set(), "USED": set()}, 0
    for line in run.stdout.splitlines():
        tag, _, rest = line.partition(" ")
        if tag in sets and LIBRARY.search(os.path.basename(rest)):
            sets[tag].add(os.path.realpath(rest))
        elif tag == "DEVICES":
            devices = int(rest)
        elif tag in ("ERROR", "SUM"):
            print(f"    {line}")
    if not sets["IMPORT"] and run.returncode != 0:
        print("    " + "\n    ".join(run.stderr.splitlines()[-2:]))
        return None
    return sets, devices


def predicted(gpuwright, python, name, environment):
    """Sets by `when`, or None when PYTHON does not have the framework."""
    run = subprocess.run([gpuwright, "snapshot", "--no-redact", "--python", python], env=environment,
                         capture_output=True, text=True)
    machine = json.loads(run.stdout)["machine"]
    for framework in machine["frameworks"]:
        if framework["name"] == name:
            sets = {}
            for row in framework["libraries"]:
                if row["state"] == "found" and LIBRARY.search(os.path.basename(row["real_path"])):
                    sets.setdefault(row["when"], set()).add(row["real_path"])
            return sets
    return None


def answer(gpuwright, python, name, environment):
    run = subprocess.run([gpuwright, "check", "--format", "json", "--python", python], env=environment,
                         capture_output=True, text=True)
    for framework in json.loads(run.stdout)["frameworks"]:
        if framework["framework"] == name:
            return framework["answer"], len(framework["gpus"])
    return None, 0


def main(arguments):
    gpuwright, python, *names = arguments
    differences = compared = 0
    for name in names or ["torch", "jax", "tensorflow"]:
        for change in ENVIRONMENTS:
            environment = {**os.environ, **change}
            expectation = predicted(gpuwright, python, name, environment)
            if expectation is None:
                break
            print(f"{name} {change}")
            truth = real(python, name, environment)
            if truth is None:
                differences += 1
                continue
            sets, devices = truth
            used = ["import", "query"] + (["device"] if devices else [])
            expected = {"IMPORT": expectation.get("import", set()),
                        "USED": set().union(*(expectation.get(when, set()) for when in used))}
            said, gpus = answer(gpuwright, python, name, environment)
            print(f"    devices {devices}, answer {said} {gpus}")
            if (said == "uses") != (devices > 0) or gpus != devices:
                differences += 1
                print("    DIFFERENT ANSWER")
            for tag in ("IMPORT", "USED"):
                compared += len(sets[tag])
                missed, extra = sets[tag] - expected[tag], expected[tag] - sets[tag]
                differences += len(missed) + len(extra)
                print(f"    {tag}: {len(sets[tag])} mapped, {len(expected[tag])} predicted")
                for path in sorted(missed):
                    print(f"    not predicted: {path}")
                for path in sorted(extra):
                    print(f"    not mapped:    {path}")
    print(f"compared {compared} mapped files: {differences} differences")
    return 1 if differences or not compared else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
