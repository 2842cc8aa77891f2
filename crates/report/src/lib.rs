//! What people read: HTML, Markdown, charts, in English and Chinese
