job "shop" {
  group "web" {
    scaling {
      min = 
      max = 3
    }
  }
}
