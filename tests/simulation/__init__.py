"""The real thing with seeded faults: crashes, full disks, damage."""
