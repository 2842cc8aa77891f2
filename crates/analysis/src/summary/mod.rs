//! Records to summary: under construction in the next change.
