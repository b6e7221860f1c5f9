"""A tracer that the profiler takes down halfway, as CUPTI has done."""

import os
import signal
import sys
from pathlib import Path

from kit.records import decode
from kit.runner.job import Job

if __name__ == "__main__":
    job = decode(Job, Path(sys.argv[1]).read_bytes())
    (Path(job.run_folder) / "kernels.csv").write_text("name,start_ns,duration_ns\n0,0,1\n")
    os.kill(os.getpid(), signal.SIGKILL)
