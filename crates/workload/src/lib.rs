//! Plan and seed in, prompts and a schedule of arrivals out
