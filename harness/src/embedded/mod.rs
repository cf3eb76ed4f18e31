//! Dependencies that the harness brings along.
