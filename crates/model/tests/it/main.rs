//! Tests of the model as other crates see it.

mod good_plans;
mod random;
mod schemas;
