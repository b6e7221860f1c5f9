import hashlib

import pytest

from kit.errors import MeasurementError
from kit.system import device_id, pci_bus_id, uuid_hash, uuid_text

UUID = "GPU-8f4a1c2e-0b3d-4e5f-a6b7-c8d9e0f1a2b3"
RAW = bytes.fromhex("8f4a1c2e0b3d4e5fa6b7c8d9e0f1a2b3")


def test_cudas_bytes_and_nvmls_text_have_one_hash():
    expected = hashlib.sha256(UUID.encode()).hexdigest()[:12]
    assert uuid_text(RAW) == UUID
    assert uuid_hash(uuid_text(RAW)) == uuid_hash(UUID) == expected
    assert uuid_hash("gpu-" + UUID[4:].upper()) == expected
    assert device_id(UUID) == f"gpu-{expected}"


def test_a_slice_never_has_the_hash_of_a_gpu():
    assert uuid_hash("MIG" + UUID[3:]) != uuid_hash(UUID)


@pytest.mark.parametrize("text", ["", "GPU-", UUID[4:], UUID + "0", "GPU-" + "x" * 36, "0"])
def test_what_is_no_uuid_has_no_hash(text):
    with pytest.raises(MeasurementError, match="is not a GPU's UUID"):
        uuid_hash(text)


def test_a_uuid_has_sixteen_bytes():
    with pytest.raises(MeasurementError, match="has 16 bytes, not 15"):
        uuid_text(RAW[:15])


@pytest.mark.parametrize("text", ["0000:3b:00.0", "00000000:3B:00.0", "3b:00.0", " 0000:3B:00.0\n"])
def test_pci_bus_ids_of_cuda_and_nvml_become_one(text):
    assert pci_bus_id(text) == "00000000:3b:00.0"


@pytest.mark.parametrize("text", ["", "3b:00", "0000:3b:00.9", "zz:00.0", "000:3b:00.0"])
def test_what_is_no_pci_bus_id_is_refused(text):
    with pytest.raises(MeasurementError, match="is not a PCI bus id"):
        pci_bus_id(text)
