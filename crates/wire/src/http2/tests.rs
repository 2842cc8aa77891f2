//! Conversations written by hand, frame by frame.
