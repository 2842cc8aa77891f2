//! How one request crosses the wire: HTTP/1.1, TLS, SSE and a file per dialect
