//! SQL as workloads write it, read into a catalogue.
