//! Charts: still ones as SVG, and the data from which the page draws the live ones.

pub(crate) mod data;
pub(crate) mod palette;
pub(crate) mod plot;
pub(crate) mod stills;
