//! The integration tests of the `kneepoint` binary and of the tree as a whole, in one executable.

mod calibrate;
mod calls;
mod interrupted;
mod kneepoint;
mod known_answer;
mod promises;
mod real_engine;
mod rivals;
mod stall;
mod tidy;
