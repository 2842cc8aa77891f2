//! Bundles on a local disk: opened, read, and told what was lost
