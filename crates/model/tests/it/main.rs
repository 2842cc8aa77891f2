//! Tests of the model as other crates see it.

mod bad_limits;
mod bad_meanings;
mod bad_plans;
mod bad_searches;
mod documents;
mod good_plans;
mod hostile_plans;
mod random;
mod schemas;
mod secrecy;
mod yaml_laws;
mod yaml_reader;
