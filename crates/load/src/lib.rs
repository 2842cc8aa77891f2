//! The instrument: one clock, one scheduler, the workers, and the journal that writes a bundle
