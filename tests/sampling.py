"""Small questions about a sampler's record, and patience, for the tests of the sampler."""

import time


def metric(record, column):
    return next(one for one in record.metrics if one.column == column)


def health(record, table):
    return next(one for one in record.health if one.table == table)


def wait_until(holds, timeout_s=5.0):
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
