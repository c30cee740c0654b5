"""Reading weights from files of every kind that SSD lies about in, without the frameworks that wrote them."""
