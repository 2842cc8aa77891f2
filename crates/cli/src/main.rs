//! The `kneepoint` command.

fn main() {}
