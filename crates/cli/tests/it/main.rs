//! The integration tests of the `kneepoint` binary and of the tree as a whole, in one executable.

mod tidy;
