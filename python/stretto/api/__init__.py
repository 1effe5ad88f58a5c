"""What `import stretto` offers: streams, communicators, collectives."""
