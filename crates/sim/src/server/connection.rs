//! Sockets: accepting them, serving HTTP/1.1 on them, and breaking them off in the way a fault wants.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::{Shared, http};

/// Pause after a failed `accept`: out of file descriptors, trying again at once would only burn the CPU.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Accepts connections until `stopped` is dropped.
pub(super) async fn serve(shared: &Arc<Shared>, listener: TcpListener, mut stopped: oneshot::Receiver<()>) {
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(tokio::spawn(connection(Arc::clone(shared), stream))),
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

async fn connection(shared: Arc<Shared>, stream: TcpStream) {
    // Each event is to leave as soon as it is written.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let reset = ResetSwitch::default();
    let socket = Socket { stream, reset: reset.clone() };
    let service = service_fn(move |request| http::handle(Arc::clone(&shared), reset.clone(), request));
    // An error here is a client that broke off, or a fault that was wanted.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
}

/// Makes a connection end with a TCP reset instead of an orderly close.
#[derive(Clone, Debug, Default)]
pub(super) struct ResetSwitch(Arc<AtomicBool>);

impl ResetSwitch {
    /// From now on.
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A TCP stream that can be told to reset its peer when dropped.
#[derive(Debug)]
struct Socket {
    stream: TcpStream,
    reset: ResetSwitch,
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.reset.0.load(Ordering::Relaxed) {
            // Closing a socket with a linger time of zero is what makes the kernel send RST. If that cannot be set,
            // the client sees a close instead, which is broken as well.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
