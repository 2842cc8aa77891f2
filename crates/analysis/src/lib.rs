//! Pure functions of a bundle: statistics, validity and the summary
