//! What of an end-to-end latency is the network's.

/// Latency without the network's share, in two forms, in the unit given. A negative one means that the round trip is longer
/// than the latency it is part of; it is told, not cut to 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlatformLatency {
    /// Latency − half a round trip. Request and answer each cross the network once, so this leaves half of it in.
    pub half_rtt: f64,
    /// Latency − a round trip, and − one for each that opened the connection.
    pub full_rtt: f64,
}

impl PlatformLatency {
    /// Of an end-to-end latency; `setup_rtts` are the round trips spent on the connection before the request.
    pub fn of(e2e: f64, rtt: f64, setup_rtts: u32) -> Self {
        Self { half_rtt: e2e - rtt / 2.0, full_rtt: e2e - f64::from(setup_rtts) * rtt - rtt }
    }

    /// `true` if the round trip exceeds what the latency has room for.
    pub fn is_negative(self) -> bool {
        self.half_rtt < 0.0 || self.full_rtt < 0.0
    }
}

/// Round trips that open a connection: none on a kept one, one for TCP, one more for TLS 1.3 and two for TLS 1.2 (RFC 8446,
/// 2; RFC 5246, 7.3).
pub fn setup_round_trips(reused: bool, tls: Option<&str>) -> u32 {
    match tls {
        _ if reused => 0,
        None => 1,
        Some(version) if version.contains("1.2") || version.contains("1_2") => 3,
        Some(_) => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_handshake_takes_a_round_trip_more() {
        assert_eq!(setup_round_trips(true, Some("TLSv1_2")), 0);
        assert_eq!(setup_round_trips(false, None), 1);
        assert_eq!(setup_round_trips(false, Some("TLS 1.3")), 2);
        assert_eq!(setup_round_trips(false, Some("TLSv1_2")), 3);
    }
}
