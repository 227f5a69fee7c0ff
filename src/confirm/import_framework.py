# Run by `gpuwright check --run` as  python -c TEXT MARKER NAME  in the environment that is examined.
# Imports one framework, lists its GPUs and multiplies two small matrices on the first of them.
# confirm/protocol.h has the form of what it prints; machine/run.h has the meaning of the fields.
# Runs under every Python from 3.6 on, and imports nothing that the framework would not.
import sys

# `python -c` puts the working directory first; a program elsewhere would not have it.
if sys.path and sys.path[0] == "":
    del sys.path[0]

import json
import os
import re

MARKER, NAME = sys.argv[1], sys.argv[2]
OUT = os.dup(1)  # frameworks and their plugins may print to 1, or close it
SIZE = 64
REPORT = {"framework": NAME, "result": "import failed", "error": "", "libraries": []}
GPU_LIBRARY = re.compile(
    r"/lib(cuda|cudart|cublas|cublasLt|cufft|curand|cusolver|cusolverMg|cusparse|cusparseLt|cudnn\w*"
    r"|nccl|nvrtc|nvrtc-builtins|nvJitLink|cupti|nvidia-ml|nvshmem_host|cufile)"
    r"([-.][0-9a-f]{8})?\.so[^/]*$")


def write(kind, text):
    data = (MARKER + " " + kind + " " + text + "\n").encode("utf-8", "replace")
    while data:
        data = data[os.write(OUT, data):]


def call(name):
    write("call", name)


def libraries():
    found = []
    with open("/proc/self/maps", errors="replace") as maps:
        for line in maps:
            fields = line.rstrip("\n").split(None, 5)
            if len(fields) == 6 and GPU_LIBRARY.search(fields[5]) and fields[5] not in found:
                found.append(fields[5])
    return found[:200]


def tell():
    REPORT["libraries"] = libraries()
    write("json", json.dumps(REPORT))


def fact(value, source):
    return {"value": value, "source": source}


# The last line of a traceback. TensorFlow puts the traceback that matters into the message of
# another error, so an error named inside the message goes first.
def last_line(error):
    text = str(error).strip()
    inner = [line for line in text.split("\n") if re.match(r"[\w.]*(Error|Exception): .", line)]
    if inner:
        return inner[-1][:500]
    first = text.split("\n")[0]
    return (type(error).__name__ + (": " + first if first else ""))[:500]


# Small whole numbers: every product and sum stays below 2^11, which float32, TensorFloat-32 and
# bfloat16 with float32 sums all hold exactly. So the result is right to the last bit or wrong, in
# whatever order and format the GPU adds.
def matrices():
    a = [[(3 * i + 5 * j) % 7 - 3 for j in range(SIZE)] for i in range(SIZE)]
    b = [[(2 * i + 3 * j) % 5 - 2 for j in range(SIZE)] for i in range(SIZE)]
    columns = list(zip(*b))
    product = [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]
    return a, b, product


def judge(product, expected):
    for i, (row, wanted) in enumerate(zip(product, expected)):
        for j, (x, y) in enumerate(zip(row, wanted)):
            if x != y:
                return "wrong: %r instead of %d in row %d, column %d of %d x %d" % (
                    x, y, i, j, SIZE, SIZE)
    return "right"


def multiply(source, on_gpu):
    a, b, expected = matrices()
    call("a matrix product")
    try:
        REPORT["matmul"] = fact(judge(on_gpu(a, b), expected), source)
    except Exception as error:
        REPORT["matmul"] = fact("failed: " + last_line(error), source)


def run_tensorflow(tf):
    config = tf.config
    if not hasattr(config, "list_physical_devices"):  # before 2.1
        config = config.experimental
    call("tf.config.list_physical_devices")
    gpus = config.list_physical_devices("GPU")
    for gpu in gpus:  # without it TensorFlow takes all of the GPU's memory
        tf.config.experimental.set_memory_growth(gpu, True)
    REPORT["devices"] = fact([gpu.name for gpu in gpus], "tf.config.list_physical_devices")

    def product(a, b):
        tf.config.set_soft_device_placement(False)
        with tf.device("/GPU:0"):
            return tf.matmul(tf.constant(a, tf.float32), tf.constant(b, tf.float32)).numpy().tolist()

    if gpus:
        tell()
        multiply("tf.matmul", product)


def run_torch(torch):
    call("torch.cuda.is_available")
    names = []
    if torch.cuda.is_available():
        names = ["cuda:%d (%s)" % (i, torch.cuda.get_device_name(i))
                 for i in range(torch.cuda.device_count())]
    REPORT["devices"] = fact(names, "torch.cuda")

    def product(a, b):
        a, b = (torch.tensor(m, dtype=torch.float32, device="cuda:0") for m in (a, b))
        return torch.matmul(a, b).cpu().tolist()

    if names:
        tell()
        multiply("torch.matmul", product)
        return
    try:  # says why
        torch.cuda.init()
    except Exception as error:
        REPORT["error"] = last_line(error)


def run_jax(jax):
    call("jax.devices")
    gpus = []
    try:
        gpus = [device for device in jax.devices() if device.platform in ("gpu", "cuda", "rocm")]
    except RuntimeError as error:  # JAX_PLATFORMS=cuda, and no GPU
        REPORT["error"] = last_line(error)
    REPORT["devices"] = fact(
        ["%s (%s)" % (device, getattr(device, "device_kind", "GPU")) for device in gpus],
        "jax.devices")

    def product(a, b):
        import numpy
        a, b = (jax.device_put(numpy.array(m, numpy.float32), gpus[0]) for m in (a, b))
        return numpy.asarray(jax.numpy.matmul(a, b)).tolist()

    if gpus:
        tell()
        multiply("jax.numpy.matmul", product)


def main():
    call("import " + NAME)
    try:
        module = __import__(NAME)
        if NAME == "jax":
            __import__("jax.numpy")
        REPORT["result"] = "imported"
        version = getattr(module, "__version__", None)
        if isinstance(version, str):
            REPORT["version"] = fact(version, NAME + ".__version__")
        tell()
        {"tensorflow": run_tensorflow, "torch": run_torch, "jax": run_jax}[NAME](module)
    except BaseException as error:
        REPORT["error"] = last_line(error)
        if REPORT["result"] == "imported" and "devices" not in REPORT:
            REPORT["devices"] = {"unknown": REPORT["error"], "source": NAME}
    tell()
    os._exit(0)  # what libraries do at their end is not the question, and may hang


main()
